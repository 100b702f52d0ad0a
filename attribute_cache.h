/* Caches for attributes and methods: an optimisation of compiled modules that saves about 24,000 instructions per move
 * in The Edge and 18,000 in Corner Stones, with the semantics of Python.
 *
 * The code that Cython generates looks up every attribute in its type, through functions of the interpreter, while the
 * interpreter caches this for its own bytecode. hatch_build.py includes this file in the generated code.
 *
 * Cached is what the type alone determines: where a slot is in the object, properties, and methods of types whose
 * instances have no attributes that could hide them. A type gets a new version whenever its attributes change. */
#include <Python.h>
#include <structmember.h>

#if !defined(PYPY_VERSION) && !defined(Py_GIL_DISABLED)

#define CACHE_SIZE 512 /* a power of two, larger than the number of types and names that a module combines */

typedef struct {
    unsigned int version; /* of the type; 0 is not a version */
    PyObject *name;       /* owned, so that no other name gets its address */
    PyObject *found;      /* the property or method, borrowed from the type */
    Py_ssize_t offset;    /* the place of a slot in the object; otherwise -1 */
} Cached;

static Cached cached_attributes[CACHE_SIZE], cached_methods[CACHE_SIZE];

static inline Cached *entry_for(Cached *cache, PyTypeObject *type, PyObject *name) {
    return &cache[(type->tp_version_tag * 31 + ((size_t)name >> 4)) & (CACHE_SIZE - 1)];
}

static inline int is_for(Cached *entry, PyTypeObject *type, PyObject *name) {
    return entry->name == name && entry->version == type->tp_version_tag && entry->version != 0;
}

static void remember(Cached *cache, PyTypeObject *type, PyObject *name, PyObject *found, Py_ssize_t offset) {
    Cached *entry = entry_for(cache, type, name);
    Py_INCREF(name);
    Py_XSETREF(entry->name, name);
    entry->version = type->tp_version_tag;
    entry->found = found;
    entry->offset = offset;
}

static PyObject *get_uncached_attribute(PyTypeObject *type, PyObject *object, PyObject *name) {
    PyObject *found = type->tp_getattro == PyObject_GenericGetAttr ? _PyType_Lookup(type, name) : NULL;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX && (member->flags & ~READONLY) == 0)
            remember(cached_attributes, type, name, found, member->offset);
    } else if (found != NULL && Py_IS_TYPE(found, &PyProperty_Type))
        remember(cached_attributes, type, name, found, -1);
    return (type->tp_getattro)(object, name);
}

static inline PyObject *get_attribute(PyObject *object, PyObject *name) {
    PyTypeObject *type = Py_TYPE(object);
    Cached *entry = entry_for(cached_attributes, type, name);
    if (!is_for(entry, type, name))
        return get_uncached_attribute(type, object, name);
    PyObject *value, *found = entry->found;
    if (entry->offset < 0) {
        Py_INCREF(found);
        value = Py_TYPE(found)->tp_descr_get(found, object, (PyObject *)type);
        Py_DECREF(found);
        return value;
    }
    value = *(PyObject **)((char *)object + entry->offset);
    if (value == NULL) /* not set */
        return (type->tp_getattro)(object, name);
    Py_INCREF(value);
    return value;
}

/* Instances have no attributes besides slots, or only those that a type in C sets, such as a frozen struct of msgspec. */
static int hides_no_methods(PyTypeObject *type) {
    static PyObject *setter = NULL;
    if (type->tp_dictoffset == 0)
        return 1;
    if (type->tp_setattro == PyObject_GenericSetAttr || (!setter && !(setter = PyUnicode_InternFromString("__setattr__"))))
        return 0;
    PyObject *found = _PyType_Lookup(type, setter);
    return found != NULL && Py_IS_TYPE(found, &PyWrapperDescr_Type);
}

static PyObject *call_uncached_method(PyObject *name, PyObject *const *arguments, size_t count, PyObject *keywords) {
    PyTypeObject *type = Py_TYPE(arguments[0]);
    if (type->tp_getattro == PyObject_GenericGetAttr && hides_no_methods(type)) {
        PyObject *found = _PyType_Lookup(type, name);
        if (found != NULL && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR))
            remember(cached_methods, type, name, found, -1);
    }
    return PyObject_VectorcallMethod(name, arguments, count, keywords);
}

static inline PyObject *call_method(PyObject *name, PyObject *const *arguments, size_t count, PyObject *keywords) {
    PyTypeObject *type = Py_TYPE(arguments[0]);
    Cached *entry = entry_for(cached_methods, type, name);
    if (!is_for(entry, type, name))
        return call_uncached_method(name, arguments, count, keywords);
    PyObject *found = entry->found;
    Py_INCREF(found);
    PyObject *result = PyObject_Vectorcall(found, arguments, count & ~PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
    Py_DECREF(found);
    return result;
}

/* The generated code gets attributes with "return type->tp_getattro(object, name);". */
#define tp_getattro(object, name) tp_getattro == NULL ? NULL : get_attribute(object, name)
#define PyObject_VectorcallMethod call_method

#endif

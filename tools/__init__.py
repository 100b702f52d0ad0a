"""Programs for developers: they write the generated files and print the module map."""

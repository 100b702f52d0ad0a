"""The doctor of an installation: settings, files, store, port and public URL (``samedeal doctor``)."""

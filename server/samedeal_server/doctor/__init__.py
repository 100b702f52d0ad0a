"""The doctor of a server's installation: settings, files, store, port and public URL (``samedeal doctor``)."""

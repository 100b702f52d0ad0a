"""Programs for operators: backups, and the doctor of an installation."""

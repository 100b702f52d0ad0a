"""Everything that is kept in Redis: connections, the race log, the archive and guests."""

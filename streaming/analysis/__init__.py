"""What measured runs say, as pure statistics: no files, no sockets, no clock."""

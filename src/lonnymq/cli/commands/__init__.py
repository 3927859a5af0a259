"""The commands of `lonnymq`: a module for each command or group of commands. They do not import each other."""

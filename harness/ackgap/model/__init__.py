"""The words of the field as frozen data.

No module here reads a file, opens a socket, looks at a clock or starts a process: everything is a value that can
be compared, pickled and written as JSON. Rooms above decide; this room only says what there is to decide about.
"""

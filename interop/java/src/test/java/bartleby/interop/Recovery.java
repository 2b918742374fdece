package bartleby.interop;

/** Whether the client mends a broken connection, with everything declared and consumed on it, by itself. */
enum Recovery {
    AUTOMATIC,
    NONE
}

"""What the codes of `ingest_issues` mean. docs/ingest-issues.md lists the same; a test compares them.

A code is stable: scripts ask for it. A plug-in may bring codes of its own.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # the file as a whole
    "truncated": "The file ends in the middle of a document: a full disk, or a harness that still writes it. "
    "What stands in it whole is read where the format allows it; it is read again when it changes.",
    "empty_file": "The file is empty, or holds nothing but blanks or zero bytes.",
    "not_json": "The file is not JSON and was not cut short.",
    "unreadable": "The file could not be opened or read.",
    "unreadable_folder": "A folder could not be entered; what is in it is not known.",
    "outside_link": "A link leads out of the folders given; what is there is read all the same.",
    "kept_old_rows": "The file as it is now was rejected, or was cut short and holds less than before; what was "
    "read of it before stays. A table that was read with `--map` needs `--map` again.",
    "unknown_format": "A file named on the command line that no format claims. Name one with `--format`.",
    "internal_error": "A format failed on this file. The file is left out, the others are not. Please report it.",
    "more_issues": "The file has more issues than are listed.",
    # read with a repair
    "byte_order_mark": "The file starts with a byte order mark, which was skipped.",
    "invalid_utf8": "Bytes that are not UTF-8 were read as U+FFFD.",
    "non_finite": "A number is NaN, infinite or beyond the range of doubles; it is read as unknown.",
    "surrogate": "A text holds half of a surrogate pair, which was read as U+FFFD.",
    "sentinel": "A number that a runtime, a time, a count or a speedup cannot be (negative, "
    "infinite), or a speedup of 0 or -1 for a run that is called correct; it is read as unknown.",
    "too_deep": "Objects nested deeper than 200 levels were left out.",
    "trailing_data": "Text after the end of the document was not read.",
    "type_repaired": "A field holds another type than it should and was converted, such as 3.0 for 3.",
    "type_dropped": "A field holds something that cannot be converted; it is left empty.",
    "bad_time": "A time that is no time; it is left empty.",
    "unreadable_companion": "A file read along with this one (a kernel, a configuration) cannot be read.",
    # lines and rows
    "cut_arguments": "A page shows its kernels in part; what is cut has no hash, and stays with the call.",
    "bad_line": "A line cannot be read and is left out; the others stay.",
    "bad_row": "A row has more or fewer cells than the table has columns.",
    "bad_parquet": "The file is not readable as Parquet.",
    "not_yaml": "The file is not readable as YAML.",
    "bad_yaml": "The file is not readable as YAML throughout.",
    "line_too_long": "A line is too long to be one event; it is left out.",
    "not_json_lines": "Lines that hold no JSON object (a banner, a program's own output) are left out.",
    "unmapped_table": "The table lacks columns that the mapping needs.",
    "unknown_schema": "A line names a schema that this version does not know.",
    "unknown_key": "A part of the document under a name that means nothing here; it is left out.",
    # archives
    "bad_member": "A member of an evaluation log cannot be read; the others stay.",
    "not_zip": "The file is no zip archive, whatever its name says.",
    "member_damaged": "A member of an archive does not decompress or fails its checksum; it is left out.",
    "member_encrypted": "A member of an archive is encrypted; it is left out.",
    "member_method": "A member of an archive is compressed in a way that is not known; it is left out.",
    "member_path": "A member's name leads out of the archive, or no file can have it; it is left out.",
    "member_too_large": "A member of an archive is larger than is read (docs/formats.md); it is left out.",
    "archive_too_large": "The archive holds more than is read (docs/formats.md); the rest of it is left out.",
    # identity
    "duplicate_run": "The file holds the same run twice; the first is kept.",
    "duplicate_row": "The same row stands in the table twice and counts once.",
    "repeated_run": "Another result of the same run and sample; it is read as a further sample.",
    "duplicate_verification": "The same verification stands in another place too and counts once.",
    "no_problem_id": "A result without the number of its problem.",
    "no_run_id": "A result that does not say which run it is.",
    "missing_problem": "A summary counts problems that the results lack.",
    "missing_part": "A file that this one continues in is not there.",
    # content of another kind than the name says
    "not_a_trajectory": "The document has none of the keys of a trajectory.",
    "not_a_trace_page": "The page lacks what makes it a trace page: a level, a problem, an outcome.",
    "not_a_problem": "The file is no reference problem: it lacks `Model`, `get_inputs` or its place.",
    "not_results": "The document is not a results file.",
    "not_an_annotation": "The document is no annotation, or does not say of which run.",
    "not_an_eval_log": "The file is no evaluation log.",
    "no_events": "No line of the transcript is an event of its format.",
    "no_timings": "A timing file in which no entry was measured.",
    "log_running": "The log has no header yet: its evaluation runs, or was killed.",
}
"""Meaning of each code, in a sentence or two."""

STEPS: dict[str, str] = {
    "truncated": "copy it whole, or wait for its writer: it is read again when it changes",
    "empty_file": "remove it, or write it again: it is read again when it changes",
    "not_json": "look at it, or --format NAME if it is of another format",
    "unreadable": "make it readable, then ingest again",
    "unreadable_folder": "make the folder readable, then ingest again",
    "kept_old_rows": "repair the file; what was read of it before stays until then",
    "unknown_format": "--format NAME if you know it",
    "internal_error": "please report it, with the file if you can",
    "bad_parquet": "write it again: it is damaged",
    "not_yaml": "look at it, or --format NAME if it is of another format",
    "bad_yaml": "repair its YAML",
    "unmapped_table": "--map FILE for a table",
    "unknown_schema": "update kbstats: a newer one wrote it",
    "not_zip": "copy it whole, or rename it: it is no zip archive",
    "bad_member": "write the log again: a part of it is damaged",
    "member_damaged": "pack the archive again",
    "member_encrypted": "unpack it yourself, and ingest the folder",
    "member_method": "unpack it yourself, and ingest the folder",
    "member_too_large": "unpack it yourself, and ingest the folder",
    "archive_too_large": "unpack it yourself, and ingest the folder",
    "log_running": "wait for its evaluation: it is read again when it changes",
    "no_timings": "nothing in it was measured: measure again, or leave it out",
    "missing_part": "put the file beside it that it continues in",
}
"""What to do about a code that costs something of a file; of others the file itself must tell."""

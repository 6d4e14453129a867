"""kbstats.ingest.formats: one module a trace format, found through entry points."""

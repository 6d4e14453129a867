"""kbstats.ingest: files -> typed records -> tables."""

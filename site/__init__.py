"""kbstats.site: one static site from one database."""

"""kbstats.sql: tables, models and audits as plain SQL files, and the catalogue that installs them."""

"""kbstats.analytics: warehouse, leaderboards, failures, audit, statistics, verification, command line."""

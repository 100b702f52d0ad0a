"""Scores over several races, computed from results alone: evenings, personal scores and head-to-head records."""

"""Rendering: cards, tables and standings as text, on a canvas, as SVG and as a recording."""

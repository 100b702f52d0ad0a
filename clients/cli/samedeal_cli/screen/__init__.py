"""The full screen: races and replays."""

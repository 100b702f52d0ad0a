"""Line mode: a race as lines of text."""

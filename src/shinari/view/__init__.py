"""What is seen: the viewer in the browser, pictures, videos and plots. Needs the extras [view], [render] or [plot]."""

"""What grader and student's process say to each other, and how every reply is read."""

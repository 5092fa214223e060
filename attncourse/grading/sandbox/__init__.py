"""The student's side: which part of the machine it sees, the walls around it, and the process inside."""

"""Grading that cannot be fooled: `attncourse grade`.

    grade.py         a whole class: workers, one judge, the tables and pages at the end
    submissions.py   who handed in what: a folder or a zip
    judging.py       answers meet solutions, here and nowhere else

    sandbox/         the room of the student's code
      view.py        which part of this machine it may see
      isolate.py     the walls around it: namespaces, an unprivileged user, limits
      launch.py      starts a runner; walls.py says what its walls keep out, as tried from inside
      runner.py      a warm process inside the walls that forks once per student
      student.py     runs statements and answers, sends plain data home

    protocol/        the room between them
      wire.py        tensors and JSON over a socket, read strictly
      examiner.py    the grader's side of the conversation with a student's process

    report/          the room of what is kept and shown
      journal.py     a killed run goes on from here
      tables.py      CSV
      pages.py       feedback for each student, a page about the class

Solutions and expected values stay in the grader's process. What a student's process sends is only ever an answer:
it is read as numbers and compared by the judge that learners use (`exercises.examine`).
"""

"""Grading that cannot be fooled: `attncourse grade`.

    submissions.py   who handed in what: a folder or a zip
    view.py          which part of this machine a student's code may see
    isolate.py       the walls around it: namespaces, an unprivileged user, limits
    runner.py        a warm process inside the walls that forks once a student
    student.py       the student's side: runs statements and answers, sends plain data home
    wire.py          tensors and JSON over a socket, read strictly
    launch.py        starts a runner; walls.py says what its walls keep out, as tried from inside
    examiner.py      the grader's side of the conversation with a student's process
    judging.py       answers meet solutions
    grade.py         a whole class: workers, journal.py (a killed run goes on), tables.py, pages.py

Solutions and expected values stay in the grader's process. What a student's process sends is only ever an answer:
it is read as numbers and compared by the judge that learners use (`exercises.examine`).
"""

import re


def solve(question):
    rows = re.findall(r"^[\d ]+$", question.rpartition("?")[2], re.MULTILINE)
    matrix = [row.split() for row in rows if row.strip()]
    order = []
    while matrix:
        order += matrix.pop(0)
        matrix = [list(row) for row in zip(*matrix)][::-1]
    return " ".join(order)


def run(question, env):
    try:
        answer = solve(question)
    except Exception as error:
        env.log(f"solve failed: {error!r}")
        answer = None
    return answer or env.llm(question + "\n\nReply with the answer only.").strip()

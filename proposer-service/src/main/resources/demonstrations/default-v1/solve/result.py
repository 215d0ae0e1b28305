import re

COMMON = "ETAOINSHRDLU"


def solve(question):
    found = re.search(r"text: (.+?)\. Provide", question, re.DOTALL)
    if found is None:
        return None
    best = ""
    for shift in range(26):
        text = re.sub(r"[A-Z]", lambda m: chr((ord(m[0]) - 65 - shift) % 26 + 65), found[1])
        if sum(map(COMMON.count, text)) > sum(map(COMMON.count, best)):
            best = text
    return best


def run(question, env):
    try:
        answer = solve(question)
    except Exception as error:
        env.log(f"solve failed: {error!r}")
        answer = None
    return answer or env.llm(question + "\n\nReply with the answer only.").strip()

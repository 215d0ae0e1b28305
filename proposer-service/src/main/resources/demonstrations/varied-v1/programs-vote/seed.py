import re


def run(question, env):
    prompt = question + (
        "\n\nWrite a Python program that computes the answer and prints only the answer, "
        "in the form that the question asks for. Reply with one ```python block."
    )
    messages = [{"role": "user", "content": prompt}]
    for attempt in range(2):
        reply = env.llm(messages)
        blocks = re.findall(r"```(?:python)?\s*\n(.*?)```", reply, re.DOTALL)
        result = env.python(blocks[-1] if blocks else reply)
        answer = result.stdout.strip()
        if answer and result.error is None:
            return answer
        fault = result.error or "The program printed nothing."
        messages += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": fault + "\nReply with the corrected program."},
        ]
    return env.llm(question + "\n\nReply with the answer only.", max_tokens=64).strip()

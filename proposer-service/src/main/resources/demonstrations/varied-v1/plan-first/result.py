import re


def run(question, env):
    prompt = question + (
        "\n\nExplain in a few sentences which method finds the answer. Then write a complete Python program that "
        "uses this method on the data of the question, checks the result, and prints only the answer, exactly in the "
        "form that is asked for. Put the program in one ```python block."
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

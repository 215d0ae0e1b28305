import re


def code_of(reply):
    blocks = re.findall(r"```(?:python|py)?[ \t]*\n(.*?)```", reply, re.DOTALL)
    return blocks[-1] if blocks else reply


def run(question, env):
    task = (
        question
        + "\n\nWrite a complete Python program that works out the answer to this and prints the answer alone, "
        "in exactly the form that is asked for. Give the program in one ```python block."
    )
    talk = [{"role": "user", "content": task}]
    reply = env.llm(talk)
    result = env.python(code_of(reply), timeout_s=10)
    if result.error or not result.stdout.strip():
        fault = (result.error or result.stderr or "It printed nothing.")[-600:]
        talk += [
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "The program failed:\n" + fault + "\nGive the whole corrected program."},
        ]
        result = env.python(code_of(env.llm(talk)), timeout_s=10)
    answer = result.stdout.strip()
    if answer and not result.error:
        return answer
    return env.llm(question + "\n\nGive only the final answer, as short as possible.", max_tokens=64).strip()

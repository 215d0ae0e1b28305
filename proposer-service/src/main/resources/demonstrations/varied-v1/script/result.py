import re


def script_of(reply):
    blocks = re.findall(r"```(?:python|py)?\s*\n(.*?)```", reply, re.DOTALL)
    return blocks[-1] if blocks else reply


def run(question, env):
    chat = [
        {
            "role": "user",
            "content": question + "\n\nFirst say in a few sentences how the answer can be found. Then write a complete "
            "Python script that contains the data of the question, works the answer out and prints the answer alone, in "
            "exactly the form that is asked for. Put the script in one ```python block.",
        }
    ]
    for attempt in range(3):
        reply = env.llm(chat)
        result = env.python(script_of(reply))
        answer = result.stdout.strip()
        if answer and result.error is None:
            return answer
        trouble = (result.error or "The script printed nothing.")[-500:]
        chat.append({"role": "assistant", "content": reply})
        chat.append({"role": "user", "content": trouble + "\nWrite the whole script again, corrected."})
    return env.llm(question + "\n\nGive the final answer only.", max_tokens=64).strip()

import re


def attempt(prompt, env, temperature):
    reply = env.llm(prompt, temperature=temperature)
    code = re.findall(r"```(?:python)?\s*\n(.*?)```", reply, re.DOTALL)
    result = env.python(code[-1] if code else reply)
    return "" if result.error else result.stdout.strip()


def run(question, env):
    prompt = "Solve the task below with a complete Python program. Its last line prints the answer and nothing else.\n\n" + question
    for temperature in (0.0, 0.5, 0.9):
        answer = attempt(prompt, env, temperature)
        if answer:
            return answer
    reply = env.llm(question + "\n\nThink step by step. Write the final answer alone on the last line.")
    return reply.strip().splitlines()[-1].strip()

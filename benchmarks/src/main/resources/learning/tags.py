import re


def run(question, env):
    reply = env.llm(
        question
        + "\n\nWork through this step by step. At the end write the final answer, and nothing else, "
        "between <answer> and </answer>, in exactly the form that the question asks for."
    )
    found = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    return found[-1].strip() if found else reply.strip()

import re


def run(question, env):
    """Word problems of the form "N boxes with M pens each, and K single pens": read the numbers, then calculate."""
    numbers = [int(number) for number in re.findall(r"\d+", question)]
    if len(numbers) != 3:
        return env.llm(question, max_tokens=200)
    boxes, pens, single = numbers
    return str(boxes * pens + single)

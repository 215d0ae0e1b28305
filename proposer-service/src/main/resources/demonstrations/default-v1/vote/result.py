from collections import Counter


def run(question, env):
    prompt = question + (
        "\n\nReason briefly. Write the final answer, exactly in the form that the question "
        "asks for, alone on the last line after 'Answer:'."
    )
    answers = []
    for sample in range(3):
        reply = env.llm(prompt, temperature=0.0 if sample == 0 else 0.7)
        answer = reply.rpartition("Answer:")[2].strip().strip("*.").strip()
        if answer:
            answers.append(answer)
    if not answers:
        return env.llm(question + "\n\nReply with the answer only.", max_tokens=64).strip()
    return Counter(answers).most_common(1)[0][0]

def run(question, env):
    return env.llm(question, max_tokens=200)

def run(question, env):
    return env.llm(question)

/** Copied beside the installed AI SDK, which it calls as any program would. Prints what it got as JSON. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const [, , address, apiKey, provider, task] = process.argv
const baseURL = `${address}/v1`
const openai = createOpenAI({ baseURL, apiKey })
const MODELS = {
  // The default of the package: Responses, with items that are stored.
  openai: () => openai('agent'),
  chat: () => openai.chat('agent'),
  compatible: () => createOpenAICompatible({ name: 'ours', baseURL, apiKey })('agent'),
  anthropic: () => createAnthropic({ baseURL, apiKey })('agent'),
}
const model = MODELS[provider]()

const weather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city}: 21 degrees`,
})
const looped = {
  model,
  prompt: 'Weather in Rome?',
  tools: { weather },
  stopWhen: stepCountIs(4),
  maxRetries: 0,
}
const City = z.object({ city: z.string(), degrees: z.number() })

const TASKS = {
  async loop() {
    const { text, steps } = await generateText(looped)
    return { text, steps: steps.length }
  },
  async streamedLoop() {
    const answer = streamText(looped)
    let text = ''
    for await (const piece of answer.textStream) text += piece
    return { text, steps: (await answer.steps).length }
  },
  async object() {
    const answer = await generateText({
      model,
      prompt: 'Rome as an object',
      output: Output.object({ schema: City }),
      maxRetries: 0,
    })
    return { output: answer.output }
  },
  async streamedObject() {
    const answer = streamText({
      model,
      prompt: 'Rome as an object',
      output: Output.object({ schema: City }),
      maxRetries: 0,
    })
    return { output: await answer.output }
  },
  async objectAfterTool() {
    const answer = await generateText({ ...looped, output: Output.object({ schema: City }) })
    return { output: answer.output, steps: answer.steps.length }
  },
  async forced() {
    const { toolCalls } = await generateText({
      ...looped,
      stopWhen: stepCountIs(1),
      toolChoice: { type: 'tool', toolName: 'weather' },
    })
    return { calls: toolCalls.map(({ toolName, input }) => [toolName, input]) }
  },
  async failing() {
    const errors = []
    const answer = streamText({ ...looped, onError: ({ error }) => void errors.push(error) })
    let text = ''
    for await (const part of answer.fullStream)
      if (part.type === 'text-delta') text += part.text
      else if (part.type === 'error') errors.push(part.error)
    return { text, isRaised: errors.length > 0 }
  },
}

const error = problem => ({ error: String(problem), status: problem.statusCode ?? null })
const result = await TASKS[task]().catch(error)
process.stdout.write(JSON.stringify(result))

/** Which provider speaks which wire format. */
import type { ApiMode, Provider } from '../types.ts'
import { createDemo } from './demo.ts'
import { createOpenAiChat } from './openai-chat.ts'

export const providers: Readonly<Record<ApiMode, Provider>> = {
  chat_completions: createOpenAiChat(),
  demo: createDemo(),
}

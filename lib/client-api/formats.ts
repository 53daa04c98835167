/** The three request formats: how each is parsed, and how an answer is written in it. */
import type { JsonObject } from '../base/json.ts'
import type { ApiEvent, ApiRequest, ApiResult } from './api-request.ts'
import { type ChatRequest, parseChatRequest } from './chat-completions.ts'
import { chatFrames, toChatCompletion } from './chat-reply.ts'
import type { Answer, StreamedAnswer } from './client-api.ts'
import { parseMessagesRequest } from './messages.ts'
import { messageFrames, PING, toWholeMessage } from './messages-reply.ts'
import { parseResponsesRequest, type ResponsesRequest } from './responses.ts'
import { responseFrames, toFinishedResponse } from './responses-reply.ts'

export type ApiFormat<R extends ApiRequest> = {
  /** The field with the messages. */
  param: string
  /** Throws a UserError. */
  parse: (body: JsonObject) => R
  whole: (answer: Answer, result: ApiResult, request: R) => unknown
  frames: (
    answer: StreamedAnswer,
    events: AsyncIterable<ApiEvent>,
    request: R,
  ) => AsyncGenerator<string>
  /** Sent while nothing happens; absent: a comment. */
  heartbeat?: string
}

export const chatFormat: ApiFormat<ChatRequest> = {
  param: 'messages',
  parse: parseChatRequest,
  whole: toChatCompletion,
  frames: chatFrames,
}

export const responsesFormat: ApiFormat<ResponsesRequest> = {
  param: 'input',
  parse: parseResponsesRequest,
  whole: toFinishedResponse,
  frames: responseFrames,
}

export const messagesFormat: ApiFormat<ApiRequest> = {
  param: 'messages',
  parse: parseMessagesRequest,
  whole: toWholeMessage,
  frames: messageFrames,
  heartbeat: PING,
}

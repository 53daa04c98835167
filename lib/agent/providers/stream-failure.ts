/** Error objects inside a response with status 200, classified like error responses with a status. */
import { asCount, asObject, asString, type JsonObject } from '../../base/json.ts'
import { errorFieldsIn } from '../error-fields.ts'
import { classify, type ProviderFailure, statusOfErrorName } from '../failure.ts'
import { errorMessageIn } from './http-post.ts'

export const streamFailure = (error: unknown): ProviderFailure => {
  const { code, status, type } = asObject(error)
  const number = Number(code ?? status)
  const statusByName =
    statusOfErrorName(String(code ?? '')) ?? statusOfErrorName(String(type ?? ''))
  const json = JSON.stringify(error)
  const message = errorMessageIn(json)
  return classify({
    status: Number.isInteger(number) && number >= 400 && number < 600 ? number : statusByName,
    message: message === '' ? 'The provider reports an error.' : message,
    text: json,
    fields: errorFieldsIn(error),
  })
}

/**
 * Throws the error in an event or document, in any of the shapes that servers use. Sources: the OpenAI and Anthropic APIs
 * (`error`), vLLM (`object: "error"`), FastAPI servers (`detail`), MiniMax (`base_resp`).
 */
export const throwErrorIn = (event: JsonObject): void => {
  if (event.error) throw streamFailure(event.error)
  if (event.type === 'error' || event.object === 'error') throw streamFailure(event)
  if (event.choices === undefined && asString(event.detail) !== '')
    throw streamFailure(event.detail)
  const { status_code: code, status_msg: message } = asObject(event.base_resp)
  if (asCount(code) > 0)
    throw classify({
      message: asString(message) || `Error ${code}`,
      fields: { codes: [String(code)], param: undefined },
    })
}

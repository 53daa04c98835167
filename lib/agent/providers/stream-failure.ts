/** Classifies an error object inside a stream like an error response with a status. */
import { asObject } from '../../base/json.ts'
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
  })
}

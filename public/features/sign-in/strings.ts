/** English text of the dialog for an expired session, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('sign-in', {
  'signin.title': 'Sign in again',
  'signin.text': 'You’ve been signed out. Your draft is saved.',
  'signin.password': 'Password',
  'signin.code': 'Code from your authenticator app',
  'signin.passkey': 'Use a passkey',
  'signin.with': 'Sign in with {name}',
  'signin.submit': 'Sign in',
} as const)

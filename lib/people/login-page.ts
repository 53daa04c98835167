/** The login page: the HTML document in the language of who opens it, with its CSP. */
import { directionOf, languageOf } from '../base/languages.ts'
import { documentPolicy, fillTemplate } from '../http/html-template.ts'
import { loginLanguage, loginTexts } from './login-texts.ts'

export type LoginPage = { document: string; policy: string }

/** `base` is the path prefix, with a trailing slash. */
export const loginPage = (
  template: string,
  {
    base,
    botName,
    language,
    theme,
    usesSetupToken,
    hasPasskeys,
    canHavePasskeys,
    asksName,
    provider,
    isUnknown,
  }: {
    base: string
    botName: string
    language: string
    theme: string
    usesSetupToken: boolean
    /** There are passkeys for the host name of this page. */
    hasPasskeys: boolean
    /** The address of this page has a host name that passkeys can belong to. */
    canHavePasskeys: boolean
    /** Several people can sign in. */
    asksName: boolean
    /** Name of the provider that people can sign in with. */
    provider: string | null
    /** The proxy names a user who is no person here. */
    isUnknown: boolean
  },
): LoginPage => {
  const lang = loginLanguage(language)
  const texts = loginTexts(lang)
  const { token, tokenHint, tokenWrong, oidcUnknown } = texts
  // Without a provider, nothing is said about one.
  const nameProvider = ([key, text]: [string, string]) =>
    key.startsWith('oidc')
      ? [key, provider === null ? '' : text.replace('{name}', () => provider)]
      : [key, text]
  const document = fillTemplate(template, {
    ...Object.fromEntries(Object.entries(texts).map(nameProvider)),
    lang,
    dir: directionOf(languageOf(lang) ?? 'en'),
    ...(asksName && { asksName: 'yes', wrong: texts.wrongName }),
    ...(usesSetupToken && { asksName: '', password: token, wrong: tokenWrong, hint: tokenHint }),
    // A sign-in with the token is for setting a password.
    after: usesSetupToken ? 'settings/security' : '',
    field: usesSetupToken ? 'text' : 'password',
    problem: isUnknown ? oidcUnknown : '',
    passkeys: hasPasskeys ? 'yes' : '',
    passkeysHere: canHavePasskeys ? 'yes' : '',
    // The browser offers passkeys in the menu of the field.
    remember: usesSetupToken
      ? 'off'
      : hasPasskeys
        ? 'current-password webauthn'
        : 'current-password',
    base,
    theme,
    bot_name: botName,
  })
  return { document, policy: documentPolicy(template, { images: "'self' data:", forms: "'self'" }) }
}

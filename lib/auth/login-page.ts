/** The login page: its texts in every supported language, and the HTML document with its CSP. */
import { fillTemplate, inlineHashes } from '../http/html-template.ts'

type LoginTexts = {
  lang: string
  title: string
  password: string
  enter: string
  wrong: string
  lost: string
  /** For the setup token: no password is set and other machines can reach the server. */
  token: string
  tokenHint: string
  tokenWrong: string
}

const TEXTS = {
  en: {
    lang: 'en',
    title: 'Sign in',
    password: 'Password',
    enter: 'Sign in',
    wrong: 'Incorrect password.',
    lost: 'Can’t reach the server.',
    token: 'Setup token',
    tokenHint:
      'No password is set yet. Enter the setup token from the server log, then set a password.',
    tokenWrong: 'Incorrect token.',
  },
  es: {
    lang: 'es-ES',
    title: 'Iniciar sesión',
    password: 'Contraseña',
    enter: 'Entrar',
    wrong: 'La contraseña no es correcta.',
    lost: 'No se puede contactar con el servicio.',
    token: 'Código de configuración',
    tokenHint:
      'Todavía no hay contraseña. Introduce el código de configuración del registro del servicio y define después una contraseña.',
    tokenWrong: 'El código no es correcto.',
  },
  de: {
    lang: 'de-DE',
    title: 'Anmelden',
    password: 'Passwort',
    enter: 'Anmelden',
    wrong: 'Das Passwort stimmt nicht.',
    lost: 'Der Dienst ist nicht erreichbar.',
    token: 'Einrichtungscode',
    tokenHint:
      'Es ist noch kein Passwort gesetzt. Geben Sie den Einrichtungscode aus dem Protokoll des Dienstes ein und setzen Sie danach ein Passwort.',
    tokenWrong: 'Der Code stimmt nicht.',
  },
  ru: {
    lang: 'ru-RU',
    title: 'Вход',
    password: 'Пароль',
    enter: 'Войти',
    wrong: 'Неверный пароль.',
    lost: 'Сервис недоступен.',
    token: 'Код настройки',
    tokenHint:
      'Пароль ещё не задан. Введите код настройки из журнала сервиса, затем задайте пароль.',
    tokenWrong: 'Неверный код.',
  },
  zh: {
    lang: 'zh-CN',
    title: '登录',
    password: '密码',
    enter: '登录',
    wrong: '密码不正确。',
    lost: '无法连接到服务。',
    token: '设置码',
    tokenHint: '尚未设置密码。请输入服务日志中的设置码，然后设置密码。',
    tokenWrong: '设置码不正确。',
  },
  'zh-hant': {
    lang: 'zh-TW',
    title: '登入',
    password: '密碼',
    enter: '登入',
    wrong: '密碼不正確。',
    lost: '無法連線到服務。',
    token: '設定碼',
    tokenHint: '尚未設定密碼。請輸入服務記錄中的設定碼，然後設定密碼。',
    tokenWrong: '設定碼不正確。',
  },
} satisfies Record<string, LoginTexts>

const isKnown = (tag: string): tag is keyof typeof TEXTS => Object.hasOwn(TEXTS, tag)

/** The texts for a language tag such as `zh_TW`, `de-AT` or `EN`; English when it is not supported. */
export const textsFor = (language: string): LoginTexts => {
  const tag = language.trim().toLowerCase().replaceAll('_', '-')
  if (/^zh-(tw|hk|mo|hant)\b/.test(tag)) return TEXTS['zh-hant']
  const base = tag.split('-', 1)[0] ?? ''
  return isKnown(tag) ? TEXTS[tag] : isKnown(base) ? TEXTS[base] : TEXTS.en
}

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
  }: { base: string; botName: string; language: string; theme: string; usesSetupToken: boolean },
): LoginPage => {
  const texts = textsFor(language)
  const { token, tokenHint, tokenWrong } = texts
  const document = fillTemplate(template, {
    ...texts,
    ...(usesSetupToken ? { password: token, wrong: tokenWrong, hint: tokenHint } : { hint: '' }),
    // A sign-in with the token is for setting a password.
    after: usesSetupToken ? 'settings/security' : '',
    field: usesSetupToken ? 'text' : 'password',
    remember: usesSetupToken ? 'off' : 'current-password',
    base,
    theme,
    bot_name: botName,
  })
  // Hashes of the template: it has no placeholders inside these elements, and values cannot add elements.
  const [style, script] = [inlineHashes(template, 'style'), inlineHashes(template, 'script')]
  const policy = [
    "default-src 'none'",
    `style-src ${style.join(' ')}`,
    `script-src ${script.join(' ')}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { document, policy }
}

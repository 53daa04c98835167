/** The login page's words in the languages of the settings, and its document. */
import { fillTemplate, inlineHashes } from '../http/page.ts'

type Words = {
  lang: string
  title: string
  password: string
  enter: string
  wrong: string
  lost: string
}

const WORDS = {
  en: {
    lang: 'en',
    title: 'Sign in',
    password: 'Password',
    enter: 'Sign in',
    wrong: 'This password is not right.',
    lost: 'The service cannot be reached.',
  },
  es: {
    lang: 'es-ES',
    title: 'Iniciar sesión',
    password: 'Contraseña',
    enter: 'Entrar',
    wrong: 'La contraseña no es correcta.',
    lost: 'No se puede contactar con el servicio.',
  },
  de: {
    lang: 'de-DE',
    title: 'Anmelden',
    password: 'Passwort',
    enter: 'Anmelden',
    wrong: 'Das Passwort stimmt nicht.',
    lost: 'Der Dienst ist nicht erreichbar.',
  },
  ru: {
    lang: 'ru-RU',
    title: 'Вход',
    password: 'Пароль',
    enter: 'Войти',
    wrong: 'Неверный пароль.',
    lost: 'Сервис недоступен.',
  },
  zh: {
    lang: 'zh-CN',
    title: '登录',
    password: '密码',
    enter: '登录',
    wrong: '密码不正确。',
    lost: '无法连接到服务。',
  },
  'zh-hant': {
    lang: 'zh-TW',
    title: '登入',
    password: '密碼',
    enter: '登入',
    wrong: '密碼不正確。',
    lost: '無法連線到服務。',
  },
} satisfies Record<string, Words>

const isKnown = (tag: string): tag is keyof typeof WORDS => Object.hasOwn(WORDS, tag)

/** `zh_TW`, `de-AT`, `EN` → the words that serve; English for what we do not speak. */
export const wordsFor = (language: string): Words => {
  const tag = language.trim().toLowerCase().replaceAll('_', '-')
  if (/^zh-(tw|hk|mo|hant)\b/.test(tag)) return WORDS['zh-hant']
  const base = tag.split('-', 1)[0] ?? ''
  return isKnown(tag) ? WORDS[tag] : isKnown(base) ? WORDS[base] : WORDS.en
}

export type LoginPage = { document: string; policy: string }

/** `base` is the path we are served under, with its slash at the end. */
export const loginPage = (
  template: string,
  {
    base,
    botName,
    language,
    theme,
  }: { base: string; botName: string; language: string; theme: string },
): LoginPage => {
  const words = wordsFor(language)
  const document = fillTemplate(template, {
    ...words,
    base,
    theme,
    bot_name: botName,
    logo: (Array.from(botName)[0] ?? '').toUpperCase(),
  })
  // Of the template: places are never inside these two, and what fills them may not bring more.
  const [style, script] = [inlineHashes(template, 'style'), inlineHashes(template, 'script')]
  const policy = [
    "default-src 'none'",
    `style-src ${style.join(' ')}`,
    `script-src ${script.join(' ')}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { document, policy }
}

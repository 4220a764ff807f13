//! How much a wish weighs among wishes of its kind: whoever is asked sees the weightiest first.

use std::path::{Component, Path};

use sandbox_spec::{HostPattern, HostRule};

/// Words in names of variables that hold secrets.
const SECRET_WORDS: [&str; 20] = [
    "ACCESS",
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "CERT",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PAT",
    "PIN",
    "PRIVATE",
    "SALT",
    "SIGNING",
];
/// Parts that tell it wherever they stand.
const SECRET_PARTS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "SESSION"];
/// Variables that hold secrets, or lead to some, by names that do not tell.
const SECRET_NAMES: [&str; 10] = [
    "DATABASE_URL",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "DSN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "MONGO_URL",
    "NETRC",
    "PGSERVICEFILE",
    "REDIS_URL",
];

/// Of a place of the host, without links in its path: what holds credentials weighs more than what does not, and a folder weighs
/// more than what is in it.
pub fn of_mount(source: &Path, holds_credentials: bool) -> u8 {
    const DEEPEST: usize = 9;
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let depth = source.components().filter(is_name).count().min(DEEPEST);
    let breadth = u8::try_from(DEEPEST - depth).unwrap_or(0);
    breadth + if holds_credentials { 100 } else { 0 }
}

/// Of a host: where keys of machines are, then everything, then many, then one.
pub fn of_host(host: &str) -> u8 {
    let Ok(rule) = host.parse::<HostRule>() else { return u8::MAX };
    match &rule.host {
        _ if rule.metadata_service().is_some() => 5,
        HostPattern::Any => 4,
        HostPattern::Below(name) if !name.contains('.') => 3,
        _ if !rule.is_one_host() => 2,
        // An address rather than a name: nobody sees whose it is.
        HostPattern::Network { .. } => 1,
        HostPattern::Name(_) | HostPattern::Below(_) => 0,
    }
}

/// Whether a variable is one that holds a secret, by its name.
pub fn is_secret_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_word = |word: &&str| name.split('_').any(|part| part == *word);
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_WORDS.iter().any(is_word)
        || name.ends_with("KEY")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "OPENAI_API_KEY",
            "openai_apikey",
            "DB_PASS",
            "PGPASSWORD",
            "SSH_AUTH_SOCK",
            "DATABASE_URL",
            "NPM_AUTH",
            "MYTOKEN2",
            "KUBECONFIG",
            "STRIPEKEY",
        ] {
            assert!(is_secret_variable(name), "{name}");
        }
        for name in ["HOME", "LANG", "EDITOR", "PATH", "KEYBOARD", "COMPASS", "AUTHOR", "MONKEYS"] {
            assert!(!is_secret_variable(name), "{name}");
        }
    }

    #[test]
    fn wide_is_more_than_narrow() {
        let mount = |path: &str, holds| of_mount(Path::new(path), holds);
        assert!(mount("/", false) > mount("/usr", false));
        assert!(mount("/usr", false) > mount("/usr/share/doc", false));
        assert!(mount("/a/b/c/d/.ssh", true) > mount("/", false));
        let order = ["169.254.169.254", "*", "*.org", "10.0.0.0/8", "1.2.3.4:80", "a.org:443"];
        let weights: Vec<u8> = order.iter().map(|host| of_host(host)).collect();
        assert!(weights.is_sorted_by(|a, b| a > b), "{weights:?}");
    }
}

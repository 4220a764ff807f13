//! Requirements, sources and troubles.

use super::*;
use crate::deps::find_needs;
use crate::testing::SkillBuilder;

fn requirements(file: &str, text: &str) -> Result<Requirements, RequirementError> {
    Requirements::of(&find_needs(&SkillBuilder::new("a").file(file, text).load()))
}

#[test]
fn packages_with_scripts_are_found_wherever_they_lie() {
    let list = r#"{"packages": {
        "node_modules/a": {"version": "1.0.0"},
        "node_modules/b": {"hasInstallScript": true},
        "node_modules/a/node_modules/@s/c": {"hasInstallScript": true},
        "node_modules/a/node_modules/b": {"hasInstallScript": true}
    }}"#;
    assert_eq!(packages_with_scripts(list), Some(vec!["@s/c".to_owned(), "b".to_owned()]));
    assert_eq!(packages_with_scripts("{}"), None);
    assert_eq!(packages_with_scripts("no list"), None);
}

#[test]
fn what_can_be_done_without_is_not_installed() {
    let text = "import yaml\nimport uno\ntry:\n    import lxml\nexcept ImportError:\n    pass\n";
    let found = requirements("scripts/a.py", text).unwrap();
    assert_eq!(found.python, ["PyYAML"]);
    assert!(found.sees_system);
    assert!(found.venv_command().contains(&"--system-site-packages".to_owned()));
    assert_eq!(found.pip_install_command().last().unwrap(), "PyYAML");
}

#[test]
fn addresses_and_options_are_refused() {
    let python = |text: &str| requirements("requirements.txt", text).unwrap_err();
    assert!(matches!(python("a @ https://x.example/a.whl"), RequirementError::Elsewhere(_)));
    assert!(matches!(python("a @ file:///etc"), RequirementError::Elsewhere(_)));
    assert!(matches!(python("b\u{1b}[2J"), RequirementError::Unreadable(_)));
    let node = |version: &str| {
        let text = format!("{{\"dependencies\": {{\"a\": \"{version}\"}}}}");
        requirements("package.json", &text).unwrap_err()
    };
    for version in ["file:../x", "git+ssh://x", "me/mine", "https://x.example/a.tgz", "npm:b@1"] {
        assert!(matches!(node(version), RequirementError::Elsewhere(_)), "{version}");
    }
    let text = "{\"dependencies\": {\"../../x\": \"1\"}}";
    assert!(matches!(requirements("package.json", text), Err(RequirementError::Unreadable(_))));
}

#[test]
fn versions_arrive() {
    let text = "{\"dependencies\": {\"@a/b\": \"^1.2 || 3.x\", \"c\": \"latest\"}}";
    let found = requirements("package.json", text).unwrap();
    assert_eq!(found.node["@a/b"], "^1.2 || 3.x");
    assert!(found.package_json().contains("\"c\": \"latest\""));
    assert_eq!(requirements("requirements.txt", "x[y]>=2,<3\n").unwrap().python, ["x[y]>=2,<3"]);
}

#[test]
fn every_difference_makes_another_key() {
    let one = requirements("requirements.txt", "a==1\n").unwrap();
    let two = requirements("requirements.txt", "a==2\n").unwrap();
    let python = |version: &str| BTreeMap::from([("python".to_owned(), version.to_owned())]);
    let keys = [
        one.key_text(&python("3.11")),
        one.key_text(&python("3.12")),
        two.key_text(&python("3.11")),
        Requirements { sees_system: true, ..one.clone() }.key_text(&python("3.11")),
        // Both would be the same lines of text.
        Requirements { python: vec!["a".into(), "b".into()], ..one.clone() }.key_text(&python("")),
        Requirements { python: vec!["a\npython b".into()], ..one.clone() }.key_text(&python("")),
    ]
    .map(Result::unwrap);
    let names: std::collections::BTreeSet<String> = keys.iter().map(|key| key_name(key)).collect();
    assert_eq!(names.len(), keys.len());
    assert_eq!(key_name(&keys[0]), key_name(&one.key_text(&python("3.11")).unwrap()));
    // The first bytes of SHA-256 of nothing.
    assert!(key_name("").starts_with("e3b0c44298fc1c14") && key_name("").len() == 64);
}

#[test]
fn pip_is_read_in_its_order() {
    let config = "global.index-url='https://me:key@one.example/simple'\n\
                  install.index-url='https://two.example:8443/simple'\n\
                  :env:.find-links='/wheels\\nhttps://three.example/x'\n\
                  global.cert='/etc/a.crt'\nglobal.user='yes'\ndownload.index-url='http://no.example'\n";
    let source = pip_source(config, "https://default.example/simple files.example");
    let hosts: Vec<&str> = source.hosts.iter().map(String::as_str).collect();
    assert_eq!(hosts, ["three.example:443", "two.example:8443"]);
    assert_eq!(source.env["PIP_INDEX_URL"], "https://two.example:8443/simple");
    assert_eq!(source.env["PIP_FIND_LINKS"], "/wheels\nhttps://three.example/x");
    assert!(!source.env.contains_key("PIP_USER"));
    assert!(source.paths.contains(std::path::Path::new("/etc/a.crt")));
    assert!(source.paths.contains(std::path::Path::new("/wheels")));
}

#[test]
fn pip_without_an_index_uses_its_own_and_without_network_none() {
    let source = pip_source("", "https://default.example/simple files.example\n");
    let hosts: Vec<&str> = source.hosts.iter().map(String::as_str).collect();
    assert_eq!(hosts, ["default.example:443", "files.example:443"]);
    let source = pip_source(":env:.no-index='1'\n", "https://default.example/simple x");
    assert!(source.hosts.is_empty());
}

#[test]
fn npm_is_read_with_the_keys_for_its_hosts_only() {
    let config = r#"{"registry": "https://npm.example/", "@a:registry": "http://a.example:81/r",
                     "cafile": "/etc/a.crt", "proxy": null, "init-author-name": "me"}"#;
    let files = "//npm.example/:_authToken=${KEY}\n//other.example/:_authToken=secret\nx=y\n";
    let host_env = BTreeMap::from([("KEY".to_owned(), "k".to_owned())]);
    let source = npm_source(config, files, &host_env);
    let hosts: Vec<&str> = source.hosts.iter().map(String::as_str).collect();
    assert_eq!(hosts, ["a.example:81", "npm.example:443"]);
    assert_eq!(source.env["npm_config_//npm.example/:_authToken"], "k");
    assert!(!source.env.values().any(|value| value == "secret" || value == "me"));
}

#[test]
fn what_npm_does_not_print_because_of_a_password_is_found_elsewhere() {
    let files = "registry=https://me:${KEY}@npm.example/\n@a:registry=https://t@a.example\n\
                 proxy=http://no.example\n";
    let env = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let host_env =
        BTreeMap::from([env("KEY", "k"), env("npm_config_https_proxy", "http://u:p@x:1")]);
    let source = npm_source(r#"{"proxy": null}"#, files, &host_env);
    assert_eq!(source.env["npm_config_registry"], "https://me:k@npm.example/");
    assert_eq!(source.env["npm_config_https-proxy"], "http://u:p@x:1");
    let hosts: Vec<&str> = source.hosts.iter().map(String::as_str).collect();
    assert_eq!(hosts, ["a.example:443", "npm.example:443", "x:1"]);
    // What npm prints is what counts.
    let source = npm_source(r#"{"registry": "https://other.example/"}"#, files, &host_env);
    assert_eq!(source.env["npm_config_registry"], "https://other.example/");
}

#[test]
fn a_proxy_is_a_host_too() {
    let mut source = pip_source("", "https://default.example/simple files.example");
    let env = BTreeMap::from([("https_proxy".to_owned(), "proxy.example:3128".to_owned())]);
    source.use_proxy(&env);
    assert!(source.hosts.contains("proxy.example:3128"));
    assert_eq!(source.env["https_proxy"], "proxy.example:3128");
}

#[test]
fn troubles_are_told_apart() {
    let what = |installer, output: &str| explain(installer, output, "r.example:443").what;
    let pip = "ERROR: Could not find a version that satisfies the requirement nope==9 (from \
               versions: none)\nERROR: No matching distribution found for nope==9\n";
    assert!(what(Installer::Pip, pip).contains("`nope==9`"));
    let offline = format!("NewConnectionError: [Errno -3] Temporary failure\n{pip}");
    assert!(what(Installer::Pip, &offline).contains("cannot reach"));
    let npm = "npm error 404  'nope@*' is not in this registry.\n";
    assert!(what(Installer::Npm, npm).contains("`nope@*`"));
    assert!(what(Installer::Npm, "getaddrinfo EAI_AGAIN r").contains("cannot reach"));
    assert!(explain(Installer::Venv, "", "").hint.contains("python3-venv"));
}

#[test]
fn what_was_printed_inside_names_packages_of_the_registry_only() {
    let needs = build_requirements("noise\n[\"wheel\", \"setuptools>=61\"]\n").unwrap();
    assert_eq!(needs, ["setuptools>=61", "wheel"]);
    for bad in
        ["[\"x @ https://y.example/x.whl\"]", "[\"-r /etc/passwd\"]", "[\"../x\"]", "[1]", ""]
    {
        assert!(build_requirements(bad).is_err(), "{bad}");
    }
    let many = serde_json::to_string(&vec!["a"; 101]).unwrap();
    assert_eq!(build_requirements(&many), Err(RequirementError::TooMany(101)));
    assert_eq!(source_archive("{\"file\": \"a-1.0.tar.gz\"}").as_deref(), Some("a-1.0.tar.gz"));
    for bad in ["{\"file\": \"../a\"}", "{\"file\": \"-a\"}", "{\"file\": \"\"}", "{}", "x"] {
        assert_eq!(source_archive(bad), None, "{bad}");
    }
    let missing =
        |rest: &str| missing_requirement(&format!("No matching distribution found for {rest}"));
    assert_eq!(missing("a<2,>=1\nx").as_deref(), Some("a<2,>=1"));
    assert_eq!(missing("a; python_version > '3'").as_deref(), Some("a"));
    assert_eq!(missing("--index-url=x"), None);
}

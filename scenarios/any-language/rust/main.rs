// Files a ticket for a late payment, and remembers it in state.json. With KEY it sends a key that stays the same.
use std::io::{Error, ErrorKind, Read, Write};
use std::{env, fs, net::TcpStream, path::Path};

const BODY: &str = r#"{"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}"#;

fn post(address: &str) -> Result<String, Error> {
    let key = match env::var("KEY") {
        Ok(key) if !key.is_empty() => format!("Idempotency-Key: {key}\r\n"),
        _ => String::new(),
    };
    let request = format!(
        "POST /tickets HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{key}Connection: close\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut connection = TcpStream::connect(address)?;
    connection.write_all(request.as_bytes())?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 20") {
        return Err(Error::new(ErrorKind::Other, answer));
    }
    Ok(answer.split_once("\r\n\r\n").map(|(_, said)| said.to_string()).unwrap_or_default())
}

fn main() -> Result<(), Error> {
    if Path::new("state.json").exists() {
        return Ok(());
    }
    let url = env::var("TICKETS_URL").expect("TICKETS_URL");
    let said = post(url.trim_start_matches("http://"))?;
    fs::write("state.json.new", said)?;
    fs::rename("state.json.new", "state.json")
}
